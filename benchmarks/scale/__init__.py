"""What fits of many nodes and many rows take: time, memory and certificates."""
