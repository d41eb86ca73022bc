"""Scripts behind the figures: each reads its settings, calls kgl and writes a file."""
