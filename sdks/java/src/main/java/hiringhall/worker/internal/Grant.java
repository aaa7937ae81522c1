package hiringhall.worker.internal;

import hiringhall.worker.HallException;
import hiringhall.worker.RefusedException;
import hiringhall.worker.SupersededException;
import hiringhall.worker.UnauthorizedException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * The tokens of one login: had for a secret, renewed in time, and had anew when one is refused. Without sockets, clock
 * and threads; all times are seconds of one clock that only goes forward.
 */
public final class Grant {
    // A token is renewed so long before its end, or halfway if it does not last twice as long.
    private static final double AHEAD_SECONDS = 300;
    private static final double USUAL_LIFETIME_SECONDS = 3600;
    private static final Set<Integer> LATER = Set.of(408, 425, 429);

    private final Login login;
    private String token;
    private String refreshToken;
    private double renewAt;
    private double endsAt;
    private double nextAttemptAt;
    private int attempts;

    public Grant(Login login) {
        this.login = login;
    }

    /** The present token; empty without one. */
    public String token() {
        return token == null ? "" : token;
    }

    public boolean usable(double now) {
        return token != null && now < endsAt;
    }

    /** Whether a token is to be had now: there is no usable one, or the time to renew it has come. */
    public boolean wanted(double now) {
        return !usable(now) || (now >= renewAt && now >= nextAttemptAt);
    }

    public double pauseSeconds(double now) {
        return Math.max(0, nextAttemptAt - now);
    }

    /** The hall does not accept this token. {@code logIn}: neither is what the refresh token brings of any use. */
    public void refuse(String refused, boolean logIn) {
        if (refused.equals(token)) {
            token = null;
            nextAttemptAt = 0;
            if (logIn) {
                refreshToken = null;
            }
        }
    }

    /** The request that brings a token: by the refresh token if there is one, else by the secret. */
    public Request request() {
        Map<String, String> fields = new LinkedHashMap<>();
        if (refreshToken == null) {
            fields.put("grant_type", "client_credentials");
            fields.putAll(login.fields());
        } else {
            fields.put("grant_type", "refresh_token");
            fields.put("refresh_token", refreshToken);
        }
        return new Request(
                "login", "POST", login.path(), "", Wire.form(fields), login.answerSeconds(), java.util.List.of(), true,
                Request.FORM);
    }

    /** Say what the reply to the last request means. {@code dice} is a random number of [0, 1). */
    public Step receive(Reply reply, double dice, double now) {
        attempts++;
        if (reply instanceof Lost lost) {
            return again(lost.why(), dice, now, null);
        }
        Answer answer = (Answer) reply;
        if (answer.successful()) {
            return accepted(answer, now) ? Step.DONE : again("the answer has no access_token", dice, now, null);
        }
        if (LATER.contains(answer.status()) || answer.status() < 300 || answer.status() >= 500) {
            return again(Envelope.explain(answer), dice, now, answer);
        }
        if (Envelope.code(answer).equals(Envelope.SUPERSEDED)) {
            return new Step.Crash(new SupersededException("login: " + Envelope.explain(answer)));
        }
        if (refreshToken != null) {
            refreshToken = null;
            return new Step.Again(0, "the refresh token is dead (" + Envelope.explain(answer) + "); logging in again");
        }
        return new Step.Crash(refusal(answer));
    }

    private Step again(String why, double dice, double now, Answer answer) {
        double seconds = Backoff.waitSeconds(attempts, dice, answer);
        nextAttemptAt = now + seconds;
        return new Step.Again(seconds, why);
    }

    private HallException refusal(Answer answer) {
        String told = "login: " + Envelope.explain(answer);
        if (answer.status() == 401 || answer.status() == 403) {
            return new UnauthorizedException(told + "; " + login.advice());
        }
        return new RefusedException(
                told + "; is the address of the server right?", answer.status(), Envelope.code(answer));
    }

    private boolean accepted(Answer answer, double now) {
        Map<String, Object> members = answer.members();
        if (!(members.get("access_token") instanceof String found) || !Wire.sendable(found)) {
            return false;
        }
        double told = members.get("expires_in") instanceof Number seconds ? seconds.doubleValue() : 0;
        double lifetime = told > 0 && !Double.isInfinite(told) ? told : USUAL_LIFETIME_SECONDS;
        token = found;
        refreshToken = members.get("refresh_token") instanceof String refresh && !refresh.isEmpty() ? refresh : null;
        renewAt = now + lifetime - Math.min(AHEAD_SECONDS, lifetime / 2);
        endsAt = now + lifetime;
        attempts = 0;
        nextAttemptAt = 0;
        return true;
    }
}
