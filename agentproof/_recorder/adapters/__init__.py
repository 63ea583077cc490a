"""One module or package for each SDK that the recorder knows (standard library only)."""
