// What is measured for a profile: the kernels of layers, each call by itself, and messages between ranks.
#pragma once

#include <span>
#include <vector>

#include "tools/profile/resized_batch.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/layout/links.hpp"
#include "trireme/tools/profile.hpp"

namespace trireme::tools {

// What is walked: the first of each kind of layer, on these sizes of the micro-batch, whole and, where there
// are units for two tensor ranks, as the first of two.
struct KernelGrid {
    std::vector<std::size_t> layers;
    std::vector<BatchSize> sizes;
};

// A quarter, a half, all and twice the rows of a micro-batch.
std::vector<BatchSize> sizes_of_profile();

// Number of times that measure_layer_kernels() measures each kind of layer.
std::size_t count_kernel_walks(const model::ModelConfig& model);

// Forward and backward passes and an update of each layer and of those like it, once for warming up and at
// least `repeats` times that count.
std::vector<plan::KernelProfile> measure_layer_kernels(const ProfileSubject& subject, const KernelGrid& grid,
                                                       std::size_t repeats);

// Kernels that take tensors of any size: an update, a norm, filling and copying, from a kilobyte on.
std::vector<plan::KernelProfile> measure_flat_kernels(const ProfileSubject& subject, std::size_t repeats);

// Seconds from one kernel's end to the next one's beginning: what the program does for each of them.
double measure_launch(const ProfileSubject& subject, const std::vector<std::size_t>& layers,
                      std::size_t repeats);

// What messages between ranks cost on this machine.
struct MessageTime {
    double bytes = 0;
    double seconds = 0;
};

// The link whose times differ least from these, each by its share. Neither latency nor time of a byte is below
// 0; bytes that take none have the bandwidth of the largest message.
layout::Link fitted_link(std::span<const MessageTime> times);

// Collective over `all`, of at least two ranks. By messages to and fro, at once, of many sizes, medians of
// `repeats`: between the first two ranks of a node, and between the first ranks of two nodes, while the others
// wait. `nodes` has each rank's node: see Session. Where nodes have unlike numbers of ranks, or ranks do not
// lie node by node, there is one level, of the slowest link.
std::vector<layout::LinkLevel> measure_links(comm::Communicator& all, const std::vector<int>& nodes,
                                             std::size_t repeats);

}  // namespace trireme::tools
