"""Names of methods that values of every language's own library have: on their own they say nothing."""

from __future__ import annotations

_PYTHON_TYPES = (str, bytes, list, dict, set, int, float, tuple, type, Exception)
_OTHERS = """
add all any append apply at bind call catch ceil charAt charCodeAt clear clone close collect concat
contains copy create debug delete done emit empty end endsWith entries equals error every exec execute
exists fetch fill filter finally find findIndex first flat flatMap flush fold forEach format from get
getattr group has hasOwnProperty hashCode head includes indexOf info insert isEmpty item iter join keys
last len length limit list load lock log map match max merge min name new next now of off on once open
parse pipe pop post push put query raise read readline recv reduce refresh reject remove render replace
request reset resolve result reverse run save search seek select send set shift show size skip sleep
slice some sort splice split start startsWith status step stop stream strip sub submit substring sum
take tell test text then throw times title toArray toFixed toJSON toList toLowerCase toString
toUpperCase to_s trim type unlock unshift update upper unwrap validate value valueOf values wait warn
warning with write zip
"""

COMMON_METHODS = frozenset(_OTHERS.split()).union(*map(dir, _PYTHON_TYPES))
