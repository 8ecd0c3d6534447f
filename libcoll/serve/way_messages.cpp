#include "libcoll/serve/way_messages.h"

#include <chrono>
#include <cstddef>
#include <list>
#include <new>

#include "libcoll/serve/mpi.h"
#include "libcoll/serve/mpi_messages.h"
#include "libcoll/serve/own_communicator.h"

namespace libcoll::serve {

using namespace comm;

namespace {

constexpr int way_tag = 1;
constexpr int message_bytes = sizeof(WayQuestions::Message);

/// On its way. MPI_Finalize ends those that nobody has received.
struct Sent {
  WayQuestions::Message message;
  MpiRequest request = mpi.request_null;
};
std::list<Sent> sent;

void forget_what_has_left() noexcept {
  sent.remove_if([](Sent& each) {
    int has_left = 0;
    return mpi.test(&each.request, &has_left, mpi.status_ignore) != mpi_success || has_left != 0;
  });
}

bool send(int to, const WayQuestions::Message& message) noexcept try {
  const InsideMpi guard;
  forget_what_has_left();
  sent.push_back({message});
  Sent& added = sent.back();
  const int code =
      mpi.isend(&added.message, message_bytes, mpi.byte_type, to, way_tag, own_world_communicator(), &added.request);
  if (code == mpi_success) return true;
  sent.pop_back();
  return false;
} catch (const std::bad_alloc&) {
  return false;
}

bool receive(int& from, WayQuestions::Message& message) noexcept try {
  const InsideMpi guard;
  const MpiComm comm = own_world_communicator();
  Statuses statuses;
  statuses.resize(1);
  int found = 0;
  if (mpi.iprobe(mpi.any_source, way_tag, comm, &found, statuses.data()) != mpi_success || found == 0) return false;
  from = source_of(statuses.data());
  return mpi.recv(&message, message_bytes, mpi.byte_type, from, way_tag, comm, statuses.data()) == mpi_success;
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace

WayQuestions::Channel way_messages() noexcept { return {&send, &receive, &std::chrono::steady_clock::now}; }

}  // namespace libcoll::serve
