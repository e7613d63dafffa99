# Prices in cents, so that no cent is lost.

# total COUNT CENTS: what COUNT pieces cost. Ten or more are 10 % cheaper.
total() {
	sum=$(($1 * $2))
	if [ "$1" -gt 10 ]; then
		sum=$((sum * 90 / 100))
	fi
	echo "$sum"
}
