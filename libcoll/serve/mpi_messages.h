// MPI's point-to-point messages for the MPI transport, on private communicators.
#pragma once

#include <vector>

#include "libcoll/serve/mpi.h"
#include "libcoll/transport/mpi/mpi_transport.h"

namespace libcoll::serve {

/// While it lives this thread is in a call of MPI of ours: MPI's progress does not call back.
class InsideMpi {
 public:
  InsideMpi() noexcept;
  ~InsideMpi();
  InsideMpi(const InsideMpi&) = delete;
  InsideMpi& operator=(const InsideMpi&) = delete;
};

/// Channels are made by and by: one communicator over all processes that a communicator of the program's has, when no
/// earlier channel has all of them already. Members are to be called under the transport's lock, but for
/// make_communicator() and destroy(). A thread of its own may use it only where MPI gives MPI_THREAD_MULTIPLE.
class PrivateMessages final : public transport::mpi::MpiMessages {
 public:
  /// What stands for a channel while processes agree.
  struct Channel {
    MpiComm comm = mpi.comm_null;
    std::vector<int> world_ranks;  ///< by rank in the channel
  };

  /// Communicators to one process at most; each is memory, and MPI has not many of them.
  static constexpr std::size_t most_channels = 8;

  /// Processes of a communicator as ranks in MPI_COMM_WORLD; empty when one of them is of another world.
  static std::vector<int> world_ranks_of(MpiComm comm);
  /// Whether one channel has all these processes.
  [[nodiscard]] bool reaches(const std::vector<int>& world_ranks) const;
  /// Whether there may be another channel.
  [[nodiscard]] bool has_room() const { return !closed_ && channels_.size() < most_channels; }
  /// A communicator with the processes of this one, without its attributes, whose errors are codes. Collective.
  static MpiComm make_communicator(MpiComm comm);
  void add(Channel channel) { channels_.push_back(std::move(channel)); }

  /// Takes back what is posted and refuses everything from now on: MPI is about to end.
  void close();
  /// Whether this thread is inside a call of MPI of ours: MPI's progress may then call back.
  [[nodiscard]] static bool calling() noexcept;

  [[nodiscard]] std::int32_t world_rank() const override;
  [[nodiscard]] std::int32_t channels() const override { return static_cast<std::int32_t>(channels_.size()); }
  [[nodiscard]] std::optional<transport::mpi::MpiPlace> place_of(std::int32_t world_rank) const override;
  bool send(transport::mpi::MpiPlace to, std::int32_t tag, const void* data, std::size_t bytes, bool synchronous,
            std::uint32_t token) override;
  bool receive(transport::mpi::MpiPlace from, std::int32_t tag, void* data, std::size_t bytes,
               std::uint32_t token) override;
  std::size_t finished(std::span<transport::mpi::MpiFinished> list) override;

 private:
  bool keep(MpiRequest request, std::uint32_t token);
  void forget(std::size_t place);

  std::vector<Channel> channels_;
  HandleVector<MpiRequest> requests_;  ///< without gaps
  std::vector<std::uint32_t> tokens_;  ///< of the requests
  // Room for PMPI_Testsome's answers, and those not handed out yet.
  std::vector<int> indices_;
  Statuses statuses_;
  std::vector<transport::mpi::MpiFinished> over_;
  bool closed_ = false;
};

}  // namespace libcoll::serve
