// Measures parts of a profile: single kernel calls of layers, and messages between ranks.
#pragma once

#include <span>
#include <vector>

#include "tools/profile/resized_batch.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/layout/links.hpp"
#include "trireme/tools/profile.hpp"

namespace trireme::tools {

// The layers and micro-batch sizes for measure_layer_kernels(). Each layer runs with each size, undivided and,
// if its width can be divided, as the first rank of a tensor group of two.
struct KernelGrid {
    std::vector<std::size_t> layers;  // indices of the first layer of each kind
    std::vector<BatchSize> sizes;
};

// Returns the sizes with a quarter, a half, all, and twice the rows of a micro-batch.
std::vector<BatchSize> list_profile_batch_sizes();

// Number of times that measure_layer_kernels() measures each kind of layer.
std::size_t count_kernel_measurements(const model::ModelConfig& model);

// Measures the kernels in the forward pass, backward pass and update of each layer of `grid`. Each layer runs
// together with other layers of the model that have equal costs. After one warm-up round, further rounds
// measure each kernel call at least `repeats` times.
std::vector<plan::KernelProfile> measure_layer_kernels(const ProfileSubject& subject, const KernelGrid& grid,
                                                       std::size_t repeats);

// Measures elementwise kernels on tensors of at least a kilobyte: update, norm, fill and copy.
std::vector<plan::KernelProfile> measure_elementwise_kernels(const ProfileSubject& subject,
                                                             std::size_t repeats);

// Returns the launch overhead in seconds: the time of a step outside of kernels, divided by the number of
// kernel calls. The result is the median over all rounds and layers.
double measure_launch_overhead(const ProfileSubject& subject, const std::vector<std::size_t>& layers,
                               std::size_t repeats);

// The measured time of a message between ranks.
struct MessageTime {
    double bytes = 0;
    double seconds = 0;
};

// Fits a link to measured times, by the least squares of relative errors. The latency is at least 0. If the
// fitted time per byte is not positive, the bandwidth is that of the largest message.
layout::Link fit_link(std::span<const MessageTime> times);

// Collective over `all`, which has at least two ranks. Measures the link between the first two ranks that share
// a node, then the link between the first two ranks on different nodes; the other ranks wait. The two ranks
// send to each other at the same time, messages of several sizes. Each time is the median of `repeats`
// measurements. `nodes` has each rank's node: see Session. If nodes have unequal numbers of ranks, or ranks are
// not numbered node by node, the only level is the link between nodes.
std::vector<layout::LinkLevel> measure_links(comm::Communicator& all, const std::vector<int>& nodes,
                                             std::size_t repeats);

}  // namespace trireme::tools
