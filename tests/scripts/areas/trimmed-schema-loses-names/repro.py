# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.2"]
# ///
"""One of our definitions is called "title"; after trimming its $ref points nowhere."""
import json

from agents.extensions.tool_output_trimmer import ToolOutputTrimmer

schema = {
    "type": "object", "description": "a book",
    "properties": {"name": {"$ref": "#/$defs/title"}},
    "$defs": {"title": {"type": "string", "description": "what it is called"}},
    "default": {"title": "untitled"},
}
trimmed = ToolOutputTrimmer()._trim_json_schema(schema)
print(json.dumps({"definitions": sorted(trimmed["$defs"]), "default": trimmed["default"]}))
