/** Workers and clients for a Hiring Hall, over plain HTTP, with nothing but {@code java.base}. */
module hiringhall.worker {
    exports hiringhall.worker;
}
