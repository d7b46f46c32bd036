"""One warm process for each user, version and storage folder: it answers hooks and runs programs
for short-lived commands, which then load nothing. Without it they work as ever, by themselves."""
