# What every target of the project shares: warnings, sanitizers, MPI, and the shape of a folder's library.
include(CheckCXXCompilerFlag)

add_library(sluice_warnings INTERFACE)
target_compile_options(sluice_warnings INTERFACE -Wall -Wextra -Werror $<$<COMPILE_LANGUAGE:CXX>:-Wconversion>)
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

find_package(Threads REQUIRED)
find_package(MPI REQUIRED COMPONENTS C)
# The one MPI target: the C interface only.
add_library(sluice_mpi INTERFACE)
target_link_libraries(sluice_mpi INTERFACE MPI::MPI_C)
target_compile_definitions(sluice_mpi INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)

# sluice_library(NAME SOURCES a.cpp … LINK sluice::below …): folder NAME as static library sluice::NAME.
function(sluice_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(sluice_${name} STATIC ${ARG_SOURCES})
  add_library(sluice::${name} ALIAS sluice_${name})
  target_include_directories(sluice_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                             PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(sluice_${name} PUBLIC ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK} $<BUILD_INTERFACE:sluice_warnings>)
endfunction()
