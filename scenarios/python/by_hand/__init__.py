"""Loops that a user of each framework would write by its documentation: what the worker's figures are held against.

`python -m by_hand.<framework> CASE DATA WORKERS SECONDS`, run in the folder that this package lies in. `CASE` is one of
`CV-1`, `NLP-1` and `TAB-1`, `DATA` the folder of its data set in the harness's data cache. Nothing of the worker's
package is used here: an error that both had would not be seen.
"""
