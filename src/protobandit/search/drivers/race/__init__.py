"""The race: all arms on a growing sample of the target."""
