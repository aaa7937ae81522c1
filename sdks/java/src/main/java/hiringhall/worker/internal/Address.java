package hiringhall.worker.internal;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.URISyntaxException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/** Where the server is. A path in front of the routes is kept; without {@code tls} it is plain HTTP. */
public record Address(String host, int port, String prefix, SSLSocketFactory tls) {
    private static final int CONNECT_MILLISECONDS = 10_000;

    /** Read an http or https address; IllegalArgumentException says what is wrong with it. */
    public static Address of(String text, SSLContext tls) {
        URI address = parsed(text.strip());
        boolean secure = "https".equalsIgnoreCase(address.getScheme());
        if (!(secure || "http".equalsIgnoreCase(address.getScheme())) || address.getHost() == null) {
            throw new IllegalArgumentException("the server's address must look like http://HOST:PORT or https://HOST");
        }
        if (address.getRawUserInfo() != null || address.getRawQuery() != null || address.getRawFragment() != null) {
            throw new IllegalArgumentException(
                    "the server's address must have no user name, query or fragment; tokens are given apart");
        }
        int port = address.getPort() >= 0 ? address.getPort() : secure ? 443 : 80;
        String host = address.getHost().replaceAll("^\\[|]$", "");
        String prefix = address.getRawPath().replaceAll("/+$", "");
        return new Address(host, port, prefix, secure ? factory(tls) : null);
    }

    private static URI parsed(String text) {
        try {
            return new URI(text);
        } catch (URISyntaxException problem) {
            throw new IllegalArgumentException("the server's address must look like http://HOST:PORT or https://HOST");
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
