# Compiles several sources at once, so that the headers and templates they share are read and compiled once per unit.
# What one source has in its anonymous namespace is then seen by all of its unit: sources of a folder have names of
# their own there, and each test has a namespace of its own. The compiler finds names that meet.
option(LIBCOLL_UNITY "Compile several sources at once: half the time from nothing, more after a change of one" OFF)
set(LIBCOLL_UNITY_SIZE 10 CACHE STRING "Most sources compiled at once")

# libcoll_unity(TARGET): sources with SKIP_UNITY_BUILD_INCLUSION are compiled by themselves.
function(libcoll_unity target)
  if(LIBCOLL_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${LIBCOLL_UNITY_SIZE})
  endif()
endfunction()
