"""How often? Rounds repeated until there are k prototypes; races and swaps."""
