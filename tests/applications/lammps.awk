# Rows of the thermodynamic output, and what was counted; not how long anything took.
/^ *[0-9]+( +-?[0-9][-+.0-9e]*)+ *$/ { print }
/^(Created|Total # of neighbors|Neighbor list builds|Dangerous builds)/ { print }
