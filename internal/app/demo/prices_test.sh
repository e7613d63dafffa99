# Run it: sh prices_test.sh
. ./prices.sh

failed=0
check() {
	got=$(total "$1" "$2")
	if [ "$got" = "$3" ]; then
		echo "ok    $1 pieces at $2 cents: $got"
	else
		echo "FAIL  $1 pieces at $2 cents: got $got, want $3"
		failed=1
	fi
}

check 1 250 250
check 9 100 900
check 10 100 900
check 20 50 900
exit $failed
