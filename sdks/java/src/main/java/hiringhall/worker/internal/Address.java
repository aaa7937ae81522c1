package hiringhall.worker.internal;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/** Where the server is. A path in front of the routes is kept; without {@code tls} it is plain HTTP. */
public record Address(String host, int port, String prefix, SSLSocketFactory tls) {
    private static final int CONNECT_MILLISECONDS = 10_000;
    private static final String FORM = "the server's address must look like http://HOST:PORT or https://HOST";
    // Names that URI takes for none, with an underscore, are usual among containers.
    private static final Pattern AUTHORITY = Pattern.compile("([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+])(?::(\\d{1,5}))?");

    /** Read an http or https address; IllegalArgumentException says what is wrong with it. */
    public static Address of(String text, SSLContext tls) {
        URI address = parsed(text.strip());
        boolean secure = "https".equalsIgnoreCase(address.getScheme());
        String authority = address.getRawAuthority();
        if (!(secure || "http".equalsIgnoreCase(address.getScheme())) || authority == null) {
            throw new IllegalArgumentException(FORM);
        }
        if (authority.contains("@") || address.getRawQuery() != null || address.getRawFragment() != null) {
            throw new IllegalArgumentException(
                    "the server's address must have no user name, query or fragment; tokens are given apart");
        }
        Matcher parts = AUTHORITY.matcher(authority);
        if (!parts.matches()) {
            throw new IllegalArgumentException(FORM);
        }
        int port = parts.group(2) != null ? Integer.parseInt(parts.group(2)) : secure ? 443 : 80;
        String host = parts.group(1).replaceAll("^\\[|]$", "");
        String prefix = address.getRawPath().replaceAll("/+$", "");
        return new Address(host, port, prefix, secure ? factory(tls) : null);
    }

    private static URI parsed(String text) {
        try {
            return new URI(text);
        } catch (URISyntaxException problem) {
            throw new IllegalArgumentException(FORM);
        }
    }

    private static SSLSocketFactory factory(SSLContext tls) {
        return tls == null ? (SSLSocketFactory) SSLSocketFactory.getDefault() : tls.getSocketFactory();
    }

    /** The value of the header {@code Host}. */
    String authority() {
        String name = host.contains(":") ? "[" + host + "]" : host;
        return port == (tls == null ? 80 : 443) ? name : name + ":" + port;
    }

    /** A new connection, still without TLS. */
    Socket connected() throws IOException {
        Socket socket = new Socket();
        try {
            socket.setTcpNoDelay(true);
            socket.setKeepAlive(true);
            socket.connect(new InetSocketAddress(host, port), CONNECT_MILLISECONDS);
            socket.setSoTimeout(CONNECT_MILLISECONDS);
            return socket;
        } catch (IOException problem) {
            socket.close();
            throw problem;
        }
    }

    /** The same connection with TLS, if the address says so; the certificate has to fit the host. */
    Socket secured(Socket plain) throws IOException {
        if (tls == null) {
            return plain;
        }
        SSLSocket socket = (SSLSocket) tls.createSocket(plain, host, port, true);
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        socket.setSSLParameters(parameters);
        socket.startHandshake();
        return socket;
    }
}
