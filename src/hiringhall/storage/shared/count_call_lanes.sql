-- How many lanes of calls some services have.
SELECT service, count(*) FROM lane WHERE service {any:services text} AND method IS NOT NULL GROUP BY service
