-- The valid secrets of some owners, of each the present one first.
SELECT k.role, k.owner, k.id, k.kind, k.hash, k.valid_until IS NOT NULL FROM secret AS k
WHERE k.role = :role AND k.owner {any:owners text} AND (k.valid_until IS NULL OR k.valid_until > :now)
ORDER BY k.owner, k.valid_until IS NOT NULL, k.id
