# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.3"]
# ///
"""We give a command's output 20 tokens, and the model gets more."""
import json

from agents.sandbox.util.token_truncation import TruncationPolicy, approx_token_count, formatted_truncate_text

output = "\n".join(f"line {n} of the build log" for n in range(200))
policy = TruncationPolicy.tokens(20)
cut = formatted_truncate_text(output, policy)
print(json.dumps({"allowed": 20, "within": approx_token_count(cut) <= 20}))
