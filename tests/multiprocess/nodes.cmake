# Several ranks per node: ranks of one LIBCOLL_HOST share memory, on whatever machine the test runs.

# on_nodes(VARIABLE NODE …): options of run.sh that put rank k on the k-th of the nodes named.
function(on_nodes variable)
  set(options "")
  set(rank 0)
  foreach(node ${ARGN})
    list(APPEND options -r ${rank}:LIBCOLL_HOST=node${node})
    math(EXPR rank "${rank} + 1")
  endforeach()
  set(${variable} ${options} PARENT_SCOPE)
endfunction()

set(nodes_served allreduce=yes allgather=yes alltoall=yes bcast=yes reduce=yes)

on_nodes(by_slot 0 0 1 1 2 2 3 3)
on_nodes(round_robin 0 1 2 3 0 1 2 3)
on_nodes(uneven 0 0 1 1 1 2)
on_nodes(in_disorder 2 1 0 1 2 1 1)
on_nodes(one_node 0 0 0 0)
on_nodes(three_on_each 0 0 0 1 1 1)
on_nodes(two_on_each 0 0 1 1 2 2)
on_nodes(two_pairs 0 0 1 1)

if(LIBCOLL_SANITIZE MATCHES thread)
  multiprocess(nodes_threads ring:2 4 threads ${threaded} ${two_pairs})
  multiprocess(nodes_nonblocking_thread ring:2 6 nonblocking thread ${threaded} ${three_on_each} ${thread})
  multiprocess(nodes_persistent_thread ring:2 6 persistent ${threaded} ${three_on_each} ${thread})
else()
  multiprocess(nodes ring:4 8 collectives small LABEL multiprocess-small OPTIONS ${by_slot})
  multiprocess(nodes_reductions uniring:3 6 reductions LABEL multiprocess-small OPTIONS ${uneven})
  multiprocess(nodes_nonblocking ring:4 8 nonblocking LABEL multiprocess-small OPTIONS ${by_slot})
  multiprocess(nodes_persistent uniring:3 6 persistent LABEL multiprocess-small OPTIONS ${uneven})
endif()
if(LIBCOLL_SANITIZE)
  return()
endif()

multiprocess(nodes_by_slot ring:4 8 collectives OPTIONS ${by_slot})
multiprocess(nodes_vectors ring:4 8 vectors OPTIONS ${by_slot})
multiprocess(nodes_vectors_in_disorder complete:3 7 vectors OPTIONS ${in_disorder})
multiprocess(nodes_vectors_little_memory torus:2x2 8 vectors OPTIONS ${round_robin} -e LIBCOLL_NODE_BYTES=64K)
multiprocess(nodes_reductions_round_robin torus:2x2 8 reductions OPTIONS ${round_robin})
multiprocess(nodes_reductions_little_memory complete:3 7 reductions OPTIONS ${in_disorder} -e LIBCOLL_NODE_BYTES=64K)
multiprocess(nodes_subcommunicators ring:4 8 subcommunicators nodes OPTIONS ${by_slot})
multiprocess(nodes_subcommunicators_uneven complete:3 7 subcommunicators nodes OPTIONS ${in_disorder})
multiprocess(nodes_round_robin torus:2x2 8 collectives OPTIONS ${round_robin})
multiprocess(nodes_uneven complete:3 6 collectives OPTIONS ${uneven})
multiprocess(nodes_in_disorder complete:3 7 collectives OPTIONS ${in_disorder})
multiprocess(nodes_of_one_leader ring:4 8 collectives OPTIONS ${by_slot} -e LIBCOLL_LEADERS=1)
multiprocess(nodes_planner_by_size ring:4 8 collectives
  OPTIONS ${by_slot} -e LIBCOLL_TUNING_TABLE=${CMAKE_CURRENT_SOURCE_DIR}/by_size.toml)
multiprocess(nodes_little_memory ring:4 8 collectives OPTIONS ${by_slot} -e LIBCOLL_NODE_BYTES=64K)
# Small sums go from leader to leader: an allreduce of one int sends its 4 bytes from every node to every other, where
# the plan would gather them on one node.
multiprocess(nodes_direct complete:3 6 freed OPTIONS ${two_on_each}
  -j "\"links\": [{\"from\": 0, \"to\": 1, \"bytes\": 4}, {\"from\": 0, \"to\": 2, \"bytes\": 4}, {\"from\": 1, \"to\": 0, \"bytes\": 4}, {\"from\": 1, \"to\": 2, \"bytes\": 4}, {\"from\": 2, \"to\": 0, \"bytes\": 4}, {\"from\": 2, \"to\": 1, \"bytes\": 4}]")
multiprocess(nodes_not_direct ring:4 8 reductions OPTIONS ${by_slot} -e LIBCOLL_DIRECT_BYTES=0)
multiprocess(nodes_direct_mostly ring:4 8 reductions OPTIONS ${by_slot} -e LIBCOLL_DIRECT_BYTES=64K)
multiprocess(nodes_rounds ring:4 8 large allreduce 41943040 OPTIONS ${by_slot})
multiprocess(nodes_rounds_alltoall complete:3 6 large alltoall 2097152 OPTIONS ${uneven})
multiprocess(nodes_threads ring:4 8 threads OPTIONS ${by_slot})
multiprocess(nodes_progress ring:4 8 progress OPTIONS ${by_slot})

# Bound to one core each, to what the mapping gives, and not at all; said by the launcher for each of the eight.
set(reported -e LIBCOLL_PROGRESS_THREAD=yes -e OMPI_MCA_hwloc_base_report_bindings=1 -w "8:MCW rank ")
foreach(policy none core:overload-allowed socket:overload-allowed)
  string(REGEX REPLACE ":.*" "" name ${policy})
  multiprocess(nodes_bound_to_${name} ring:4 8 binding
    OPTIONS ${by_slot} ${reported} -e OMPI_MCA_hwloc_base_binding_policy=${policy})
endforeach()

# NUMA domains: to the ranks, this machine is one of two domains with a processor each.
# at_places(VARIABLE PLACE …): options of run.sh that put rank k where the k-th place says, "NODE:DOMAIN" or, for a rank that
# is not bound, "NODE:".
function(at_places variable)
  set(nodes ${ARGN})
  list(TRANSFORM nodes REPLACE ":.*" "")
  on_nodes(options ${nodes})
  set(rank 0)
  foreach(place ${ARGN})
    if(place MATCHES ":(.+)")
      list(APPEND options -b ${rank}:${CMAKE_MATCH_1})
    endif()
    math(EXPR rank "${rank} + 1")
  endforeach()
  set(${variable} ${options} PARENT_SCOPE)
endfunction()
set(two_domains -r "all:HWLOC_SYNTHETIC=numa:2 core:1 pu:1" -r all:HWLOC_THISSYSTEM=1 -e LIBCOLL_LOG_LEVEL=info)
set(even_places 0:0 0:1 0:0 0:1 1:1 1:0 1:0 1:1)
set(uneven_places 0:1 0:0 0:1 0:1 1:0 1:0 1:1 1:0)
set(places_in_part 0: 0:0 0:1 0:0 1: 1: 1:1 1:)
execute_process(COMMAND taskset -c 0 taskset -c 1 true RESULT_VARIABLE no_two_processors OUTPUT_QUIET ERROR_QUIET)
if(no_two_processors)
  message(STATUS "Processors 0 and 1 are not to be had: no tests of NUMA domains")
else()
  foreach(case even uneven)
    at_places(bound ${${case}_places})
    multiprocess(domains_${case} ring:2 8 domains ${${case}_places}
      OPTIONS ${bound} ${two_domains} -w "1: 4 leaders each, 2 groups by NUMA domain")
    multiprocess(domains_${case}_little_memory ring:2 8 domains ${${case}_places}
      OPTIONS ${bound} ${two_domains} -e LIBCOLL_NODE_BYTES=64K)
  endforeach()
  at_places(bound ${even_places})
  foreach(program collectives icollectives ivectors)
    multiprocess(domains_${program} ring:2 8 ${program} OPTIONS ${bound} ${two_domains})
  endforeach()
  multiprocess(domains_persistent ring:2 8 persistent OPTIONS ${bound} ${two_domains})
  at_places(bound ${places_in_part})
  multiprocess(domains_unbound ring:2 8 domains ${places_in_part}
    OPTIONS ${bound} ${two_domains} -w "1: 4 leaders each, 3 groups by NUMA domain")
  at_places(bound 0:0 0:1 0:0 0:1)
  multiprocess(domains_one_node ring:5 4 domains 0:0 0:1 0:0 0:1
    OPTIONS ${bound} ${two_domains} -e LIBCOLL_ONE_NODE=yes -w "1: 4 leaders each, 2 groups by NUMA domain")
  # The same where nothing is made believe: on the machines that this was made for there is one domain.
  at_places(bound 0:0 0:0 1:0 1:0)
  multiprocess(domains_one ring:2 4 domains 0:0 0:0 1:0 1:0 OPTIONS ${bound} -e LIBCOLL_LOG_LEVEL=info -w "0:NUMA domain")
endif()

# Nonblocking and persistent calls.
multiprocess(nodes_iexpectation ring:4 8 iexpectation ${nodes_served} OPTIONS ${by_slot})
multiprocess(nodes_nonblocking_resending ring:4 8 nonblocking OPTIONS ${by_slot} -e LIBCOLL_RESEND_SECONDS=2)
multiprocess(nodes_persistent_resending complete:3 6 persistent OPTIONS ${uneven} -e LIBCOLL_RESEND_SECONDS=2)
multiprocess(nodes_nonblocking_uneven complete:3 6 nonblocking OPTIONS ${uneven})
multiprocess(nodes_nonblocking_in_disorder complete:3 7 nonblocking OPTIONS ${in_disorder} -e LIBCOLL_LEADERS=1)
multiprocess(nodes_nonblocking_three_on_each ring:2 6 nonblocking OPTIONS ${three_on_each} -e LIBCOLL_NODE_BYTES=64K)
multiprocess(nodes_nonblocking_tcp ring:4 8 nonblocking OPTIONS ${round_robin} ${over_tcp})
multiprocess(nodes_nonblocking_mpi complete:3 6 nonblocking OPTIONS ${uneven} -e LIBCOLL_TRANSPORT=mpi)
multiprocess(nodes_nonblocking_thread ring:2 6 nonblocking thread
  OPTIONS ${three_on_each} ${thread})
multiprocess(nodes_nonblocking_timeout ring:2 6 nonblocking timeout
  OPTIONS ${three_on_each} -e LIBCOLL_TIMEOUT_SECONDS=2 -w "5:iallreduce")
multiprocess(nodes_nonblocking_one_node ring:5 4 nonblocking OPTIONS ${one_node} -e LIBCOLL_ONE_NODE=yes)
foreach(program icollectives ireductions ivectors ithreads iprogress)
  multiprocess(nodes_${program} ring:4 8 ${program} OPTIONS ${by_slot})
endforeach()
multiprocess(nodes_irounds ring:4 8 ilarge allreduce 41943040 OPTIONS ${by_slot})
multiprocess(nodes_persistent_by_slot ring:4 8 persistent OPTIONS ${by_slot})
multiprocess(nodes_persistent_in_disorder complete:3 7 persistent OPTIONS ${in_disorder} -e LIBCOLL_NODE_BYTES=64K)
multiprocess(nodes_persistent_thread ring:2 6 persistent OPTIONS ${three_on_each} ${thread})
multiprocess(nodes_persistent_timeout ring:2 6 persistent timeout
  OPTIONS ${three_on_each} -e LIBCOLL_TIMEOUT_SECONDS=2 -w "5:allreduce_init")
multiprocess(nodes_prounds ring:4 8 plarge allreduce 41943040 OPTIONS ${by_slot})
multiprocess(nodes_not_served ring:4 8 iexpectation ${none_served} OPTIONS ${by_slot} -e LIBCOLL_NONBLOCKING=no)

multiprocess(nodes_tcp ring:4 8 expectation ${nodes_served} OPTIONS ${by_slot} ${over_tcp})
multiprocess(one_node ring:4 8 expectation ${none_served})
multiprocess(one_node_served ring:5 4 expectation ${nodes_served} OPTIONS ${one_node} -e LIBCOLL_ONE_NODE=yes)
multiprocess(one_node_not_served ring:5 4 expectation ${none_served}
  OPTIONS ${one_node} -e LIBCOLL_ONE_NODE=no -e LIBCOLL_COST_MODEL=yes)
set(tried -e LIBCOLL_COST_MODEL=yes -e LIBCOLL_LOG_LEVEL=info)
# Only where it is faster, as tried or as a table says; of what has not been tried nothing is served.
multiprocess(one_node_tried ring:5 4 choice
  OPTIONS ${one_node} ${tried} -w "1:MPI_COMM_WORLD: allreduce by the cost model, as measured in ")
multiprocess(one_node_tried_before ring:5 4 choice
  OPTIONS ${one_node} ${tried} -w "1:allreduce by the cost model, as kept: ")
multiprocess(one_node_measured ring:5 4 choice
  OPTIONS ${one_node} -e LIBCOLL_MEASURE=yes -e LIBCOLL_LOG_LEVEL=info -w "1:MPI_COMM_WORLD: allreduce by the cost model, as ")
multiprocess(one_node_immediate ring:5 4 iexpectation ${none_served} OPTIONS ${one_node} -e LIBCOLL_COST_MODEL=yes)
set(one_node_table -e LIBCOLL_TUNING_TABLE=${CMAKE_CURRENT_SOURCE_DIR}/one_node.toml)
foreach(program expectation iexpectation)
  multiprocess(one_node_tuned_${program} ring:5 4 ${program} allreduce=yes allgather=no alltoall=no bcast=no reduce=no
    OPTIONS ${one_node} ${one_node_table})
endforeach()
multiprocess(one_node_differs ring:5 4 expectation ${none_served} OPTIONS ${one_node} -r 3:LIBCOLL_ONE_NODE=yes)
multiprocess(nodes_leaders_differ ring:4 8 expectation ${none_served} OPTIONS ${by_slot} -r 3:LIBCOLL_LEADERS=1)
multiprocess(nodes_native_alltoall ring:4 8 expectation allreduce=yes allgather=yes alltoall=no bcast=yes reduce=yes
  OPTIONS ${by_slot} -e LIBCOLL_ALLTOALL=native)

# Nothing may be left in shared memory by then, and the survivors are to have ended by themselves.
add_test(NAME multiprocess.nodes_killed
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/killed.sh $<TARGET_FILE:libcoll_command> $<TARGET_FILE:multiprocess_killed>)
set_tests_properties(multiprocess.nodes_killed PROPERTIES LABELS multiprocess TIMEOUT 150 RUN_SERIAL ON)
