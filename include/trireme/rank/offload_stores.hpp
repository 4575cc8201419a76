// The memory to which the optimizer state of a rank is offloaded during a step.
#pragma once

#include <filesystem>
#include <memory>

#include "trireme/device/offload_store.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::rank {

// Returns a store of `bytes` bytes, in a file without a name in the folder `folder`. Disk space is reserved
// now. Throws ResourceError if the disk has not enough space, or if the folder is not writable.
std::unique_ptr<device::OffloadStore> make_file_store(const std::filesystem::path& folder, std::size_t bytes);

// Returns a store of `bytes` bytes for the optimizer state of a rank. The store is memory of the host in a
// simulation and for a GPU, and a file in `folder` for a CPU.
std::unique_ptr<device::OffloadStore> make_offload_store(const setup::Job& job, int rank,
                                                         device::Stream& stream,
                                                         const std::filesystem::path& folder,
                                                         std::size_t bytes);

}  // namespace trireme::rank
