// Measures single kernel calls, launch overhead and messages between ranks, for a profile.
#pragma once

#include <span>
#include <vector>

#include "tools/profile/resized_batch.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/layout/links.hpp"
#include "trireme/tools/profile.hpp"

namespace trireme::tools {

// The layers and micro-batch sizes that measure_layer_kernels() combines. Each layer runs with each size,
// first as a whole. If the model has several key-value heads, the layer also runs as on the first rank of a
// tensor group of two.
struct KernelGrid {
    std::vector<std::size_t> layers;  // indices of layers with different costs
    std::vector<BatchSize> sizes;
};

// Returns the sizes with about a quarter, a half, all, and twice the rows of a micro-batch.
std::vector<BatchSize> list_profile_batch_sizes();

// Returns the number of measurements per layer that measure_layer_kernels() reports to the subject's progress.
// Assumes the sizes of list_profile_batch_sizes().
std::size_t count_kernel_measurements(const model::ModelConfig& model);

// Measures the kernels in the forward pass, backward pass and update of each layer of `grid`. Copies of a layer
// run one after another, one copy per layer of the model with equal costs, within a memory limit. After one
// warm-up round, further rounds measure each kernel call at least `repeats` times.
std::vector<plan::KernelProfile> measure_layer_kernels(const ProfileSubject& subject, const KernelGrid& grid,
                                                       std::size_t repeats);

// Measures the elementwise kernels (fill, copy, sum of squares and update) on tensors of 2^8 to 2^22 elements.
// After one warm-up round, `repeats` rounds measure each kernel once per size.
std::vector<plan::KernelProfile> measure_elementwise_kernels(const ProfileSubject& subject,
                                                             std::size_t repeats);

// Returns the launch overhead in seconds: the time of a round outside of its kernels, divided by the number of
// its kernel calls. A round runs the forward passes, backward passes and updates of copies of one layer. The
// result is the median over `repeats` rounds of each layer; 0 if the median is negative. `layers` has the
// indices of the layers.
double measure_launch_overhead(const ProfileSubject& subject, const std::vector<std::size_t>& layers,
                               std::size_t repeats);

// The measured time of a message between two ranks.
struct MessageTime {
    double bytes = 0;
    double seconds = 0;
};

// Fits a link to measured times, by the least squares of relative errors. `times` must not be empty. The
// latency is at least 0. If the fitted time per byte is not positive, the bandwidth is that of the largest
// message.
layout::Link fit_link(std::span<const MessageTime> times);

// Collective over `all`, which has at least two ranks. Measures the link between the first two ranks that share
// a node, and the link between the first two ranks on different nodes. The other ranks wait. The two ranks of a
// link send messages of several sizes to each other at the same time. The time of a size is the median of
// `repeats` measurements. `nodes` has the node of each rank: see Session::nodes().
//
// Returns one level per link: the ranks of a node, then all ranks. If ranks are not numbered node by node, or
// if a node has another number of ranks than the first node (the last node may have fewer), the only level is
// the link between nodes.
std::vector<layout::LinkLevel> measure_links(comm::Communicator& all, const std::vector<int>& nodes,
                                             std::size_t repeats);

}  // namespace trireme::tools
