"""Measures "Ask or state?" with several retrievers, and in a larger corpus: python -m
bench.ask_or_state --set data_dir=FOLDER --set further=FOLDER --set
'retrievers=[embedded, "dense:FOLDER", "hybrid:FOLDER"]'

Writes data/ask_or_state_contrasts.csv and data/ask_or_state_retrievers.csv.
"""

from ircot_studies.ask_or_state import measure
from ircot_studies.contrasts import compare, compare_retrievers
from ircotlib.files import SHIPPED, write_table
from ircotlib.options import add_profile, new_parser, parse_changes
from ircotlib.parameters import read_parameters


def main() -> None:
    parser = new_parser(__doc__)
    add_profile(parser, "sample")
    options = parser.parse_args()
    rows = measure(read_parameters(options.profile, parse_changes(options.set)))
    tables = {"contrasts": compare(rows), "retrievers": compare_retrievers(rows)}
    for name, table in tables.items():
        write_table(SHIPPED / "data" / f"ask_or_state_{name}.csv", table)


if __name__ == "__main__":
    main()
