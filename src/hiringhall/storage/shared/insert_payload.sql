-- Store what a call is about.
INSERT INTO payload (work, params) VALUES (:work, :params)
