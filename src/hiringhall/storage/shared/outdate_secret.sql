-- Let the present secret be valid only for a while.
UPDATE secret SET valid_until = :valid_until WHERE role = :role AND owner = :owner AND valid_until IS NULL
