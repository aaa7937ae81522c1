package hiringhall.worker.internal.client;

import hiringhall.worker.Json;
import hiringhall.worker.internal.Given;
import hiringhall.worker.internal.Login;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Where the hall is, and what opens it, either a login or a token: as told, from the environment, or as a hall on this
 * machine wrote it down.
 */
public record Place(String server, Login login, String token) {
    private static final String SERVER_FILE = "server.json";

    /**
     * Settings as given, else from the environment, else as the hall's data folder has them. What a hall wrote down opens
     * that hall alone: its token is never sent to another address.
     */
    public static Place find(String server, String clientId, String secret, String token, double answerSeconds) {
        String name = clientId == null ? Given.variable("HALL_CLIENT_ID") : clientId;
        String told = (server == null ? Given.variable("HALL_SERVER") : server).replaceAll("/+$", "");
        if (token == null && !name.isEmpty()) {
            String key = secret == null ? Given.variable("HALL_CLIENT_SECRET") : secret;
            Given.name("secret", key, "give secret or HALL_CLIENT_SECRET, which belongs to the clientId");
            Map<String, String> fields = new LinkedHashMap<>();
            fields.put("client_id", name);
            fields.put("client_secret", key);
            String advice = "check the client's id and its secret (clientId and secret)";
            String address = told.isEmpty() ? written().getOrDefault("url", Given.DEFAULT_SERVER) : told;
            return new Place(address, new Login("/client/auth_token", fields, advice, answerSeconds), "");
        }
        if (secret != null) {
            throw new IllegalArgumentException("clientId: the secret belongs to one; give clientId or HALL_CLIENT_ID");
        }
        return opened(told, Given.token("token", token, "HALL_ADMIN_TOKEN"));
    }

    private static Place opened(String told, String token) {
        if (token != null && !told.isEmpty()) {
            return new Place(told, null, token);
        }
        Map<String, String> written = written();
        String found = token;
        if (found == null && (told.isEmpty() || told.equals(written.get("url")))) {
            found = written.get("admin_token");
        }
        if (found == null) {
            throw new IllegalArgumentException("nothing to log in with: give clientId and secret (or HALL_CLIENT_ID and "
                    + "HALL_CLIENT_SECRET), or the operator's token (or HALL_ADMIN_TOKEN)");
        }
        return new Place(told.isEmpty() ? written.getOrDefault("url", Given.DEFAULT_SERVER) : told, null, found);
    }

    /** What a hall on this machine wrote into its data folder; empty if there is none that can be read. */
    private static Map<String, String> written() {
        String home = Given.variable("XDG_DATA_HOME");
        Path share = home.isEmpty() ? Path.of(System.getProperty("user.home"), ".local", "share") : Path.of(home);
        String data = Given.variable("HALL_DATA");
        Path folder = data.isEmpty() ? share.resolve("hiringhall") : Path.of(data);
        Map<String, String> found = new LinkedHashMap<>();
        try {
            if (Json.parse(Files.readAllBytes(folder.resolve(SERVER_FILE))) instanceof Map<?, ?> members) {
                members.forEach((name, value) -> {
                    if (value instanceof String text) {
                        found.put((String) name, text);
                    }
                });
            }
        } catch (IOException | IllegalArgumentException problem) {
            return Map.of();
        }
        return found;
    }

    @Override
    public String toString() {
        return server;
    }
}
