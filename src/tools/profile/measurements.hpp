// Measurements for a profile: the kernels of layers, call by call, and messages between ranks.
#pragma once

#include <span>
#include <vector>

#include "tools/profile/resized_batch.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/layout/links.hpp"
#include "trireme/tools/profile.hpp"

namespace trireme::tools {

// The work of measure_layer_kernels(): the first of each kind of layer, on these sizes of the micro-batch. Each
// runs whole and, if its width can be divided, as the first rank of a tensor group of two.
struct KernelGrid {
    std::vector<std::size_t> layers;
    std::vector<BatchSize> sizes;
};

// Returns a quarter, a half, all and twice the rows of a micro-batch.
std::vector<BatchSize> sizes_of_profile();

// Number of times that measure_layer_kernels() measures each kind of layer.
std::size_t count_kernel_walks(const model::ModelConfig& model);

// Measures forward pass, backward pass and update of each layer and of those equal to it. One warm-up precedes
// at least `repeats` measurements.
std::vector<plan::KernelProfile> measure_layer_kernels(const ProfileSubject& subject, const KernelGrid& grid,
                                                       std::size_t repeats);

// Measures kernels that take tensors of any size, from a kilobyte up: update, norm, fill and copy.
std::vector<plan::KernelProfile> measure_flat_kernels(const ProfileSubject& subject, std::size_t repeats);

// Returns the seconds between the end of a kernel and the start of the next one, which
// the program itself takes.
double measure_launch(const ProfileSubject& subject, const std::vector<std::size_t>& layers,
                      std::size_t repeats);

// The measured time of a message between ranks.
struct MessageTime {
    double bytes = 0;
    double seconds = 0;
};

// Fits a link to measured times, by the least squares of relative errors. The latency is at least 0. If the
// fitted time per byte is not positive, the bandwidth is that of the largest message.
layout::Link fitted_link(std::span<const MessageTime> times);

// Collective over `all`, of at least two ranks. Measures the link between the first two ranks of one node, then
// that between the first ranks of two nodes; the others wait. Both ranks of a pair send at the same time, in
// many sizes; each time is the median of `repeats`. `nodes` has each rank's node: see Session. If nodes have
// unequal numbers of ranks, or ranks are not numbered node by node, the only level is the link between nodes.
std::vector<layout::LinkLevel> measure_links(comm::Communicator& all, const std::vector<int>& nodes,
                                             std::size_t repeats);

}  // namespace trireme::tools
