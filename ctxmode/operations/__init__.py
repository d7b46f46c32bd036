"""Operations other than running code: store, search, delete, count, log."""
