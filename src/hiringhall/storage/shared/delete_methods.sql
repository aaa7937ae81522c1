-- Nobody has ever registered a method of a service that is not there.
DELETE FROM service_method WHERE service = :service
