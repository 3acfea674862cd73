f2() { printf "<%s>" "$@"; }
x=$(
f2 q <<E; f2 a
E
f2 b)
echo "$x"
 y=$(while f2 c <<E
E
do f2 d; break; done); echo "$y"; z=$(f2 a <<E
E
f2 b | cat; ); echo "$z"
