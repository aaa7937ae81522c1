/**
 * Workers and clients for a Hiring Hall, over plain HTTP.
 *
 * <p>{@link hiringhall.worker.ServiceWorker} offers methods, {@link hiringhall.worker.Client} calls them, and
 * {@link hiringhall.worker.PlanWorker} takes the tasks of a plan.
 */
package hiringhall.worker;
