// Predicted work of a model's layers, before any layer has been measured in this run.
#pragma once

#include <vector>

#include "trireme/policy/layer_work.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {

// Returns the work of each layer for the largest micro-batch on one rank, as if the layer were cut evenly among
// the ranks of the smallest team. Kernel times are those of rank 0's device if --cluster or --profile provides
// them; otherwise they follow from FLOPs and bytes.
std::vector<policy::LayerWork> predict_layer_work(const Job& job, const PlanState& current);

// Returns the function that predicts the kernel times of a rank's device, from --profile or else from
// --cluster. It is empty if neither provides them: kernels then take their real time.
device::KernelTimePredictor make_kernel_seconds(const Job& job, int rank);

}  // namespace trireme::setup
