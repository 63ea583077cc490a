"""What rules ask of a trace."""
