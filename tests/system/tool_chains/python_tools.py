"""python_tools.py WORK OUT [IN …]: one step of a chain by a library of Python."""
import shutil
import sys

import numpy as np

WORKS = {}


def work(function):
    WORKS[function.__name__] = function
    return function


def copy_group(source, target, **options):
    target.setncatts({name: source.getncattr(name) for name in source.ncattrs()})
    for name, dim in source.dimensions.items():
        target.createDimension(name, None if dim.isunlimited() else len(dim))
    for name, variable in source.variables.items():
        attributes = {key: variable.getncattr(key) for key in variable.ncattrs()}
        copy = target.createVariable(name, variable.dtype, variable.dimensions, fill_value=attributes.pop("_FillValue", None), **(options if variable.dimensions else {}))
        copy.setncatts(attributes)
        for each in (variable, copy):
            each.set_auto_maskandscale(False)
        copy[...] = variable[...]
    for name, group in source.groups.items():
        copy_group(group, target.createGroup(name), **options)


def netcdf_copy(out, path, file_format, **options):
    import netCDF4
    with netCDF4.Dataset(path) as source, netCDF4.Dataset(out, "w", format=file_format) as target:
        copy_group(source, target, **options)


@work
def copy3(out, path):
    netcdf_copy(out, path, "NETCDF3_64BIT_OFFSET")


@work
def copy5(out, path):
    netcdf_copy(out, path, "NETCDF3_64BIT_DATA")


@work
def copy4(out, path):
    netcdf_copy(out, path, "NETCDF4")


@work
def compressed(out, path):
    netcdf_copy(out, path, "NETCDF4", zlib=True, complevel=2, shuffle=True, fletcher32=True)


@work
def by_record(out, path):
    """Record by record, with a sync behind each."""
    import netCDF4
    with netCDF4.Dataset(path) as source, netCDF4.Dataset(out, "w", format=source.data_model) as target:
        source.set_auto_maskandscale(False)
        temp = source.variables["temp"]
        for name, dim in zip(temp.dimensions, temp.shape):
            target.createDimension(name, None if name == "time" else dim)
        copy = target.createVariable("temp", temp.dtype, temp.dimensions)
        copy.set_auto_maskandscale(False)
        for i in range(temp.shape[0]):
            copy[i] = temp[i]
            target.sync()


@work
def from_memory(out, path):
    import netCDF4
    with open(path, "rb") as file:
        data = file.read()
    with netCDF4.Dataset("in-memory", memory=data) as source, netCDF4.Dataset(out, "w", format=source.data_model) as target:
        copy_group(source, target)


@work
def persistent(out, path):
    """Held in memory, and written at the close."""
    import netCDF4
    with netCDF4.Dataset(path) as source, netCDF4.Dataset(out, "w", diskless=True, persist=True, format=source.data_model) as target:
        copy_group(source, target)


@work
def diskless(out, path):
    import netCDF4
    with netCDF4.Dataset(path, diskless=True) as source, netCDF4.Dataset(out, "w", format=source.data_model) as target:
        copy_group(source, target)


@work
def groups(out, path):
    import netCDF4
    with netCDF4.Dataset(path) as source, netCDF4.Dataset(out, "w") as target:
        copy_group(source, target.createGroup("inner/deep"))
        target.createVariable("text", str, ())[...] = "some words"


@work
def flattened(out, path):
    import netCDF4
    with netCDF4.Dataset(path) as source, netCDF4.Dataset(out, "w") as target:
        copy_group(source["inner/deep"] if "inner" in source.groups else source, target)


@work
def appended(out, path):
    """A copy that is opened again, and gets a record, a variable and an attribute."""
    import netCDF4
    shutil.copyfile(path, out)
    with netCDF4.Dataset(out, "a") as file:
        file.set_auto_maskandscale(False)
        file.appended = "yes"
        temp = file.variables["temp"]
        temp[temp.shape[0]] = temp[0] + 1
        extra = file.createVariable("extra", "i4", temp.dimensions[-1:])
        extra[:] = np.arange(temp.shape[-1])


@work
def in_rplus(out, path):
    import netCDF4
    shutil.copy(path, out)
    for i in range(3):
        with netCDF4.Dataset(out, "r+") as file:
            file.setncattr(f"round_{i}", i)


def scipy_copy(out, path, mmap):
    from scipy.io import netcdf_file
    with netcdf_file(path, mmap=mmap) as source, netcdf_file(out, "w", version=source.version_byte) as target:
        target._attributes.update(source._attributes)
        for name, value in source._attributes.items():
            setattr(target, name, value)
        for name, length in source.dimensions.items():
            target.createDimension(name, length)
        for name, variable in source.variables.items():
            copy = target.createVariable(name, variable.data.dtype, variable.dimensions)
            for key, value in variable._attributes.items():
                setattr(copy, key, value)
            if variable.dimensions:
                copy[:] = variable[:].copy()
            else:
                copy.assignValue(variable.getValue())
        del variable


@work
def scipy_mapped(out, path):
    scipy_copy(out, path, True)


@work
def scipy_read(out, path):
    scipy_copy(out, path, False)


@work
def scipy_appended(out, path):
    from scipy.io import netcdf_file
    shutil.copyfile(path, out)
    with netcdf_file(out, "a", mmap=False) as file:
        file.history = b"appended"
        temp = file.variables["temp"]
        temp[len(temp[:])] = temp[0] * 2


def xarray_copy(out, paths, engine, file_format=None, **options):
    import xarray
    with xarray.open_mfdataset(paths, combine="nested", concat_dim="time", **options) if len(paths) > 1 else xarray.open_dataset(paths[0], **options) as data:
        data.to_netcdf(out, engine=engine, format=file_format)


@work
def xarray_netcdf4(out, path):
    xarray_copy(out, [path], "netcdf4")


@work
def xarray_scipy(out, path):
    xarray_copy(out, [path], "scipy")


@work
def xarray_lazy(out, path):
    """By threads of dask, in any order: a classic file has the same bytes then, too."""
    xarray_copy(out, [path], "netcdf4", "NETCDF3_64BIT", chunks={"time": 1})


@work
def xarray_many(out, *paths):
    xarray_copy(out, list(paths), "netcdf4", "NETCDF3_64BIT", parallel=len(paths) % 2 == 0, decode_times=False)


@work
def xarray_appended(out, path):
    """Another variable joins by mode 'a'."""
    import xarray
    with xarray.open_dataset(path) as data:
        data.load()
    data[["temp"]].to_netcdf(out)
    (data["temp"] * 2).rename("twice").to_dataset().to_netcdf(out, mode="a")


@work
def netcdf_many(out, *paths):
    import netCDF4
    with netCDF4.MFDataset(sorted(paths), aggdim="time") as source, netCDF4.Dataset(out, "w", format="NETCDF3_CLASSIC") as target:
        temp = source.variables["temp"]
        for name, length in zip(temp.dimensions, temp.shape):
            target.createDimension(name, None if name == "time" else length)
        target.createVariable("temp", "f4", temp.dimensions)[:] = temp[:]


@work
def h5py_copy(out, path):
    import h5py
    with h5py.File(path, "r") as source, h5py.File(out, "w") as target:
        for name in source:
            source.copy(name, target)
        for name, value in source.attrs.items():
            if not name.startswith("_NC"):
                target.attrs[name] = value


@work
def h5py_changed(out, path):
    import h5py
    shutil.copyfile(path, out)
    with h5py.File(out, "r+") as file:
        file.attrs["changed"] = 1
        file["temp"][...] = file["temp"][...] * 2


@work
def h5py_core(out, path):
    """Held in memory, and written at the close."""
    import h5py
    with h5py.File(path, "r", driver="core") as source, h5py.File(out, "w", driver="core", backing_store=True) as target:
        for name in source:
            source.copy(name, target)


@work
def make(out, *words):
    """Fields, of one of the formats."""
    import netCDF4
    seed, file_format = int(words[0]), words[1]
    draw = np.random.default_rng(seed)
    times, lats, lons = (int(draw.integers(1, 6)), 120, 240) if draw.random() < 0.25 else (int(draw.integers(1, 6)), int(draw.integers(3, 20)), int(draw.integers(4, 30)))
    with netCDF4.Dataset(out, "w", format=file_format) as file:
        for name, length in (("time", None), ("lat", lats), ("lon", lons)):
            file.createDimension(name, length)
        for name, units, values in (("time", "days since 2000-01-01 00:00:00", np.arange(times)), ("lat", "degrees_north", np.linspace(-80, 80, lats)), ("lon", "degrees_east", np.arange(lons) * 360.0 / lons)):
            axis = file.createVariable(name, "f8", (name,))
            axis.units = units
            axis[:] = values
        temp = file.createVariable("temp", "f4", ("time", "lat", "lon"), fill_value=1e20, **({"chunksizes": (1, lats, lons)} if file_format.startswith("NETCDF4") else {}))
        temp.units = "K"
        count = file.createVariable("count", "i2", ("time", "lat", "lon"))
        height = file.createVariable("height", "f8", ("lat", "lon"))
        temp[:] = draw.integers(0, 1000, (times, lats, lons)) / 4
        count[:] = draw.integers(0, 1000, (times, lats, lons))
        height[:] = draw.integers(0, 1000, (lats, lons))
        file.title = "fields"


WORKS[sys.argv[1]](*sys.argv[2:])
