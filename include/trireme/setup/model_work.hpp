// Predicted work of a model's layers, before any layer has been measured in this run.
#pragma once

#include <vector>

#include "trireme/plan/stage_work.hpp"
#include "trireme/policy/layer_work.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {

// Returns the work of each layer on one rank for one micro-batch, as if the layer were divided evenly among the
// ranks of the smallest team. Seconds are for a micro-batch of mean shape; bytes are for the largest
// micro-batch. Kernel times are those of make_relative_kernel_seconds() for rank 0.
std::vector<policy::LayerWork> predict_layer_work(const Job& job, const PlanState& current);

// Returns the function that predicts the kernel times of a rank's device. The times come from --profile if its
// file for this device has kernel times. Otherwise the times come from --cluster. Without either option, they
// are those of make_typical_kernel_seconds(), which are good for comparisons only.
device::KernelTimePredictor make_relative_kernel_seconds(const Job& job, int rank);

// Returns the function that make_relative_kernel_seconds() returns, or an empty function if --cluster is not
// set, because kernels then take their real time.
device::KernelTimePredictor make_kernel_seconds(const Job& job, int rank);

// Returns a function that predicts the kernel times of a CPU core with typical rates.
device::KernelTimePredictor make_typical_kernel_seconds();

}  // namespace trireme::setup
