-- A changed plan file gives a task other contents.
UPDATE task SET policy = :policy, detail = :detail, digest = :digest, seq = :seq WHERE work = :work
