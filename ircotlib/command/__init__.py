"""The commands of `ircotlib`, a module each."""
