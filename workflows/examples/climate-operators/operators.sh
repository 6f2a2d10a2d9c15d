# From the sea level of the ocean to that at the mouths of harbours, file by file: CDO looks up the points, NCO applies Green's law (the wave is 2.1 times as high where
# the water is a twentieth as deep). Knows nothing of Sluice: a file that is still to come is there as soon as the model has written it.
set -e
here=workflows/examples/climate-operators
between=$(mktemp --suffix=.cdo)
trap 'rm -f "$between"' EXIT
mkdir -p demo-output/climate-operators
number=1
while input=$(printf 'wave_%04d.nc' $number) && [ -e "$input" ]; do
  cdo -s -O -f nc2 --no_history remapnn,$here/harbours.grid -selname,sea_level "$input" "$between"
  ncap2 -O -h -v -s 'time=time; mouth_level=float(2.1*sea_level); mouth_level@units="m"' "$between" "$(printf 'mouth_%04d.nc' $number)"
  number=$((number + 1))
done
echo "$((number - 1)) files"
