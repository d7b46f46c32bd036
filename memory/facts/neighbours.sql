-- Who wrote what is live, in which change: by these its neighbours are found.
ALTER TABLE live ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE live ADD COLUMN session TEXT NOT NULL DEFAULT '';
ALTER TABLE live ADD COLUMN written INTEGER NOT NULL DEFAULT 0;
CREATE INDEX live_place ON live (agent, session, written) WHERE session != '';
