// The drawings of a report, each a figure in HTML, or empty where the records hold nothing for it.
#pragma once

#include <string>

#include "report/run_records.hpp"

namespace trireme::report {

std::string loss_chart(const RunRecords& records);
std::string score_chart(const RunRecords& records);       // accuracy, or exact match and F1
std::string speed_charts(const RunRecords& records);      // tokens/s and MFU
std::string optimizer_charts(const RunRecords& records);  // gradient norm and learning rate

std::string time_bars(const Summary& summary);     // kernels, waiting for other ranks, the rest
std::string rank_bars(const RunRecords& records);  // the same for each rank
std::string padding_bars(const Summary& summary);  // tokens of samples, padding
std::string memory_bars(const Summary& summary);   // predicted, grown

}  // namespace trireme::report
