/* raw_hdf5 FILE HEADER DATA: makes an HDF5 file with the bytes of two other files as header_blob and
 * data_blob, as E3SM describes it, with any HDF5 library. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

static void add(hid_t file, const char* name, const char* path) {
  FILE* const from = fopen(path, "rb");
  if (from == NULL) exit(2);
  fseek(from, 0, SEEK_END);
  const hsize_t size = (hsize_t)ftell(from);
  char* const bytes = malloc(size + 1);
  rewind(from);
  if (fread(bytes, 1, size, from) != size) exit(2);
  fclose(from);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &size, NULL);
  H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER);
  const hid_t set = H5Dcreate2(file, name, H5T_NATIVE_UCHAR, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  if (set < 0 || H5Dwrite(set, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) < 0) exit(3);
  H5Dclose(set), H5Sclose(space), H5Pclose(properties);
  free(bytes);
}

int main(int argc, char** argv) {
  if (argc != 4) return 1;
  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  if (file < 0) return 3;
  add(file, "header_blob", argv[2]);
  add(file, "data_blob", argv[3]);
  return H5Fclose(file) < 0;
}
