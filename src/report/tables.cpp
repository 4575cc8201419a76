#include <cmath>
#include <map>
#include <numeric>

#include "report/html.hpp"
#include "report/page.hpp"
#include "trireme/base/error.hpp"

namespace trireme::report {
namespace {

// One list of cells per row, as HTML. A figure has the cells name, value, limit and remark; a fact has the
// cells name and value.
using Rows = std::vector<std::vector<std::string>>;

constexpr const char* no_limit = "&ndash;";

void add_losses(Rows& rows, const records::Summary& s) {
    if (s.last_loss) {
        const std::string first =
            s.first_loss ? cat("; ", format_significant(*s.first_loss), " in the first step") : "";
        rows.push_back({"Training loss", format_significant(*s.last_loss), no_limit,
                        "mean of the last tenth of the steps" + first});
    }
    if (s.validation_loss) {
        // Perplexity is defined for a loss over tokens. With accuracy or exact match the
        // loss may be over classes.
        const bool is_loss_over_tokens = !s.accuracy && !s.exact_match;
        rows.push_back(
            {"Validation loss", format_significant(*s.validation_loss), no_limit,
             is_loss_over_tokens ? cat("perplexity ", format_significant(std::exp(*s.validation_loss))) : ""});
    }
}

void add_scores(Rows& rows, const records::Summary& s) {
    const auto add = [&](const char* name, records::Figure fraction, const char* remark) {
        if (fraction) rows.push_back({name, format_percent(*fraction), "100 %", remark});
    };
    add("Accuracy", s.accuracy, "correct predictions on the validation samples");
    add("Exact match", s.exact_match, "predicted answers that equal a correct answer");
    add("F1", s.f1, "common words of the predicted and the correct answers");
}

void add_counts(Rows& rows, const records::Summary& s) {
    if (s.steps) {
        const double skipped = s.skipped_steps.value_or(0);
        rows.push_back(
            {"Steps", format_with_commas(*s.steps), no_limit,
             skipped > 0 ? cat(format_with_commas(skipped), " skipped: loss or gradient not finite") : ""});
    }
    if (s.rolled_back_updates) {
        rows.push_back({"Updates rolled back", format_with_commas(*s.rolled_back_updates), "0",
                        "speculative updates whose gradient norm required clipping or skipping"});
    }
    if (s.tokens) {
        rows.push_back({"Tokens", format_with_commas(*s.tokens), no_limit,
                        s.seconds ? cat("in ", format_duration(*s.seconds), " of steps") : ""});
    }
}

void add_speed(Rows& rows, const records::Summary& s) {
    if (s.tokens_per_s) {
        const bool is_bounded = s.mfu.value_or(0) > 0;
        rows.push_back({"Tokens/s", format_with_commas(*s.tokens_per_s),
                        is_bounded ? format_with_commas(*s.tokens_per_s / *s.mfu) : no_limit,
                        is_bounded ? "at an MFU of 100 %" : ""});
    }
    if (s.images_per_s) rows.push_back({"Images/s", format_significant(*s.images_per_s), no_limit, ""});
    if (s.flops_per_s) {
        rows.push_back({"Model arithmetic", format_gigaflops(*s.flops_per_s),
                        s.peak_flops_per_s ? format_gigaflops(*s.peak_flops_per_s) : no_limit,
                        escape_html(s.peak_description)});
    }
    const std::string formula = s.mfu_formula.empty() ? "" : "= " + escape_html(s.mfu_formula);
    if (s.mfu) rows.push_back({"MFU", format_percent(*s.mfu), "100 %", formula});
    if (s.mfu_causal) {
        rows.push_back({"MFU, causal", format_percent(*s.mfu_causal), "100 %",
                        "the same formula with 6 in place of 12, for causal attention"});
    }
}

void add_lost_time(Rows& rows, const records::Summary& s) {
    if (s.bubble) {
        rows.push_back({"Bubble", format_percent(*s.bubble), format_percent(s.bubble_limit.value_or(0)),
                        "time outside kernels, mean over the ranks; the limit is the bubble of the schedule"});
    }
    const auto add_part = [&](const char* name, records::Figure fraction, const std::string& limit,
                              const char* remark) {
        if (fraction) rows.push_back({name, format_percent(*fraction), limit, remark});
    };
    add_part("Waiting for other stages", s.bubble_schedule, format_percent(s.bubble_limit.value_or(0)),
             "a part of the bubble; the limit is the bubble of the schedule");
    add_part("Waiting for tensor ranks", s.wait_tensor, "0 %", "a part of the bubble");
    add_part("Waiting for gradients", s.wait_data, "0 %", "a part of the bubble");
    add_part("Other time outside kernels", s.wait_other, "0 %", "a part of the bubble");
    if (s.comm_wait_s) {
        rows.push_back(
            {"Waiting for other ranks", format_duration(*s.comm_wait_s), "0 s", "mean over the ranks"});
    }
    if (s.padding) rows.push_back({"Padding", format_percent(*s.padding), "0 %", "of the computed tokens"});
}

void add_energy(Rows& rows, const records::Summary& s) {
    if (!s.energy_j) return;
    const bool has_rates = s.tokens.value_or(0) > 0 && s.seconds.value_or(0) > 0;
    rows.push_back(
        {"Energy", cat(format_significant(*s.energy_j), " J"), no_limit,
         has_rates ? cat(format_significant(*s.energy_j / *s.tokens), " J per token; ",
                         format_significant(*s.energy_j / *s.seconds), " W on average, for all ranks together")
                   : "for all ranks together"});
    if (s.last_step_j && s.step_j_before_clocks)
        rows.push_back(
            {"Energy of the last step", cat(format_significant(*s.last_step_j), " J"),
             s.min_step_j ? cat(format_significant(*s.min_step_j), " J") : no_limit,
             cat(format_significant(*s.step_j_before_clocks),
                 " J before clocks were set; the limit is that of the same passes in the time of a step before "
                 "clocks were set, if ranks ran slower instead of waiting")});
    const auto& [compute, blocked, idle, is_derived] = s.energy_phases_j;
    if (compute.empty()) return;
    const auto format_sum = [](const std::vector<double>& joules) {
        return cat(format_significant(std::accumulate(joules.begin(), joules.end(), 0.0)), " J");
    };
    rows.push_back({"Energy while kernels ran", format_sum(compute), no_limit,
                    cat("while blocked by other ranks: ", format_sum(blocked), "; idle: ", format_sum(idle),
                        is_derived ? "; derived from the power of a waiting GPU" : "")});
}

void add_memory(Rows& rows, const records::Summary& s) {
    if (!s.growth_bytes) return;
    rows.push_back(
        {"Memory of the fullest rank", format_megabytes(*s.growth_bytes),
         s.predicted_bytes ? format_megabytes(*s.predicted_bytes) : no_limit,
         s.predicted_bytes ? "growth of the process; the limit is the prediction" : "growth of the process"});
}

// Returns, for example, "node1 (4 ranks), node2 (4 ranks)".
std::string list_hosts(const std::vector<std::string>& hosts) {
    std::map<std::string, int> ranks;
    for (const std::string& host : hosts) ranks[host] += 1;
    std::string list;
    for (const auto& [host, count] : ranks) {
        list += cat(list.empty() ? "" : ", ", escape_html(host), " (", format_plural(count, "rank"), ")");
    }
    return list;
}

}  // namespace

std::string make_figures_table(const records::Summary& summary) {
    Rows rows{{"", "Value", "Limit", ""}};
    add_losses(rows, summary);
    add_scores(rows, summary);
    add_speed(rows, summary);
    add_lost_time(rows, summary);
    add_energy(rows, summary);
    add_memory(rows, summary);
    add_counts(rows, summary);
    return make_table(rows, true);
}

std::string make_machine_table(const records::Manifest& m) {
    Rows rows;
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) rows.push_back({name, escape_html(value)});
    };
    const auto add_number = [&](const char* name, auto value) {
        if (value > 0) rows.push_back({name, format_with_commas(static_cast<double>(value))});
    };
    add("Trireme", m.version);
    add("MPI", m.mpi_library);
    add("Device", m.device);
    add_number("Ranks", m.hosts.size());
    if (!m.hosts.empty()) rows.push_back({"Hosts", list_hosts(m.hosts)});
    add_number("Threads per rank", m.threads);
    if (m.peak.is_measured && m.peak.flops > 0)
        rows.push_back({"Measured peak of all ranks", format_gigaflops(m.peak.flops)});
    add("Model", m.model);
    add_number("Parameters", m.parameters);
    if (m.corpus) rows.push_back({"Corpus", escape_html(*m.corpus)});
    if (m.corpus_checksum)
        rows.push_back({"Corpus, SHA-256", make_element("code", escape_html(*m.corpus_checksum))});
    add("Started", m.started);
    return rows.empty() ? "" : make_table(rows, false);
}

}  // namespace trireme::report
