// What the kernels of a model's layers take, each call by itself, on micro-batches of several sizes.
#pragma once

#include <vector>

#include "tools/profile/resized_batch.hpp"
#include "trireme/tools/profile.hpp"

namespace trireme {

// What is walked: the first of each kind of layer, on these sizes of the micro-batch, whole and, where there
// are units for two tensor ranks, as the first of two.
struct KernelGrid {
    std::vector<std::size_t> layers;
    std::vector<BatchSize> sizes;
};

// A quarter, a half, all and twice the rows of a micro-batch.
std::vector<BatchSize> sizes_of_profile();

// Number of times that measure_layer_kernels() measures each kind of layer.
std::size_t count_kernel_walks(const ModelConfig& model);

// Forward and backward passes and an update of each layer and of those like it, once for warming up and at
// least `repeats` times that count.
std::vector<KernelProfile> measure_layer_kernels(const ProfileSubject& subject, const KernelGrid& grid,
                                                 std::size_t repeats);

// Kernels that take tensors of any size: an update, a norm, filling and copying, from a kilobyte on.
std::vector<KernelProfile> measure_flat_kernels(const ProfileSubject& subject, std::size_t repeats);

// Seconds from one kernel's end to the next one's beginning: what the program does for each of them.
double measure_launch(const ProfileSubject& subject, const std::vector<std::size_t>& layers,
                      std::size_t repeats);

}  // namespace trireme
