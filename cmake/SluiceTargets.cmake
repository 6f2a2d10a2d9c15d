# Settings that all targets of the project share: warnings, sanitizers, MPI, and the shape of a folder's
# library.
include(CheckCXXCompilerFlag)

add_library(sluice_warnings INTERFACE)
target_compile_options(sluice_warnings INTERFACE -Wall -Wextra $<$<COMPILE_LANGUAGE:CXX>:-Wconversion>)
# Other compilers warn of other things, and are those of people who install.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  target_compile_options(sluice_warnings INTERFACE -Werror)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # it is meant for headers, and takes a source for one
  target_compile_options(sluice_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
if(SLUICE_FUZZ)  # clang warns of other things than the compiler that the project is written with; a finding ends the run
  target_compile_options(sluice_warnings INTERFACE -w -fno-sanitize-recover=all)
endif()
if(SLUICE_SANITIZE)
  target_compile_options(sluice_warnings INTERFACE -fsanitize=${SLUICE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(sluice_warnings INTERFACE -fsanitize=${SLUICE_SANITIZE})
  if(SLUICE_SANITIZE MATCHES thread)  # ours only order two atomics, no data goes by them: that it does not know fences hides nothing
    target_compile_options(sluice_warnings INTERFACE -Wno-tsan)
  endif()
endif()

# The C interface.
add_library(sluice_mpi INTERFACE)
target_link_libraries(sluice_mpi INTERFACE MPI::MPI_C)
target_compile_definitions(sluice_mpi INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
include(SluiceMpich)  # sluice_mpich, where there is MPICH
# What stands for MPI in processes that have none.
add_library(sluice_one_process INTERFACE)
target_include_directories(sluice_one_process SYSTEM INTERFACE ${CMAKE_SOURCE_DIR}/api/one_process/mpi)

# Headers of the standard library, compiled once: they take more than a third of the compile time of most
# sources. Off with sanitizers and clang: those builds show that each source includes the headers that it
# uses.
option(SLUICE_PRECOMPILE "Precompile the headers of the standard library" ON)
if(SLUICE_SANITIZE OR SLUICE_FUZZ)
  set(SLUICE_PRECOMPILE OFF)
endif()
set(CMAKE_PCH_WARN_INVALID OFF)  # who compiles otherwise (-O3 for some loops) reads the headers as ever
set(sluice_common_headers
  <algorithm> <array> <atomic> <bit> <cerrno> <charconv> <chrono> <cstddef> <cstdint> <cstring> <deque> <filesystem> <fstream> <functional> <limits> <map> <memory>
  <mutex> <numeric> <optional> <random> <ranges> <set> <span> <sstream> <string> <string_view> <system_error> <thread> <tuple> <unordered_map> <utility> <variant> <vector>)
if(SLUICE_PRECOMPILE)
  file(WRITE ${CMAKE_BINARY_DIR}/precompiled/empty.cpp "")
  add_library(sluice_precompiled OBJECT ${CMAKE_BINARY_DIR}/precompiled/empty.cpp)
  target_precompile_headers(sluice_precompiled PRIVATE ${sluice_common_headers} <boost/container/small_vector.hpp>)
endif()
# sluice_precompile(TARGET [FROM]): lets a target with C++ sources only use the precompiled headers.
# -fpch-preprocess is for ccache. With precompiled headers g++ 12 warns about the insides of std::string; the
# builds without them (sanitizers) keep these warnings.
function(sluice_precompile target)
  if(SLUICE_PRECOMPILE)
    set(from ${ARGN} sluice_precompiled)
    list(GET from 0 from)
    target_precompile_headers(${target} REUSE_FROM ${from})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -fpch-preprocess -Wno-array-bounds -Wno-stringop-overread -Wno-stringop-overflow
                             -Wno-restrict)
    endif()
  endif()
endfunction()

# sluice_library(NAME SOURCES a.cpp … LINK sluice::below …): builds folder NAME as static library
# sluice::NAME.
function(sluice_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(sluice_${name} STATIC ${ARG_SOURCES})
  add_library(sluice::${name} ALIAS sluice_${name})
  target_include_directories(sluice_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                             PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(sluice_${name} PUBLIC ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK} $<BUILD_INTERFACE:sluice_warnings>)
  sluice_precompile(sluice_${name})
endfunction()

# sluice_room(FOLDER ROOM SOURCES a.cpp … [ROOMS below …] [LINK sluice::other …] [EACH_MPI]): builds a
# subfolder of the calling CMakeLists.txt's folder as static library sluice::FOLDER_ROOM. Its headers for other
# folders are in ROOM/include. All other headers are for rooms that name this one. EACH_MPI: the room calls MPI
# and is built for each MPI: for Open MPI under its own name, for MPICH as sluice::FOLDER_mpich_ROOM, for
# processes without MPI as sluice::FOLDER_one_process_ROOM.
function(sluice_room folder room)
  cmake_parse_arguments(ARG "EACH_MPI" "" "SOURCES;ROOMS;LINK" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${room}/)
  if(ARG_EACH_MPI)
    sluice_room_library(${folder} ${folder} ${room} sluice_mpi)
    if(TARGET sluice_mpich)
      sluice_room_library(${folder}_mpich ${folder} ${room} sluice_mpich)
      string(REPLACE "/" "_" name ${folder}_mpich_${room})
      set_target_properties(sluice_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    endif()
    sluice_room_library(${folder}_one_process ${folder} ${room} sluice_one_process)
    string(REPLACE "/" "_" name ${folder}_one_process_${room})
    set_target_properties(sluice_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  else()
    sluice_room_library(${folder} ${folder} ${room} "")
  endif()
  set_property(GLOBAL APPEND PROPERTY sluice_room_directories_of_${folder} ${CMAKE_CURRENT_SOURCE_DIR}/${room})
endfunction()

# A part of sluice_room(): the library of the room as a part of FAMILY, which is FOLDER for one MPI.
function(sluice_room_library family folder room mpi)
  string(REPLACE "/" "_" name ${family}_${room})
  add_library(sluice_${name} STATIC ${ARG_SOURCES})
  add_library(sluice::${name} ALIAS sluice_${name})
  target_include_directories(sluice_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/${room})
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${room}/include)
    target_include_directories(sluice_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/${room}/include>)
  endif()
  foreach(below ${ARG_ROOMS})
    string(REPLACE "/" "_" below_name ${family}_${below})
    target_link_libraries(sluice_${name} PUBLIC sluice::${below_name})
    target_include_directories(sluice_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/${below})
  endforeach()
  target_link_libraries(sluice_${name} PUBLIC ${ARG_LINK} ${mpi} PRIVATE $<BUILD_INTERFACE:sluice_warnings>)
  sluice_precompile(sluice_${name})
  set_property(GLOBAL APPEND PROPERTY sluice_rooms_of_${family} ${name})
endfunction()

# sluice_folder(FOLDER): joins all rooms of a folder as sluice::FOLDER; those for MPICH as sluice::FOLDER_mpich,
# and so on.
function(sluice_folder folder)
  set_property(GLOBAL APPEND PROPERTY sluice_room_directories_of_${folder} ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(family ${folder} ${folder}_mpich ${folder}_one_process)
    get_property(rooms GLOBAL PROPERTY sluice_rooms_of_${family})
    if(NOT rooms)
      continue()
    endif()
    list(REVERSE rooms)
    list(TRANSFORM rooms PREPEND sluice::)
    add_library(sluice_${family} INTERFACE)
    add_library(sluice::${family} ALIAS sluice_${family})
    target_link_libraries(sluice_${family} INTERFACE ${rooms})
  endforeach()
endfunction()

# sluice_see_rooms(TARGET FOLDER): lets the target, for example a test, include the private headers of all
# rooms of the folder.
function(sluice_see_rooms target folder)
  get_property(directories GLOBAL PROPERTY sluice_room_directories_of_${folder})
  target_include_directories(${target} PRIVATE ${directories})
endfunction()
