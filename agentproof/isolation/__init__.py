"""Hold a script in, run it under the recorder, and bring back what the recorder wrote."""
