// Every command line in the documents names a command of the program, and options that this command has.
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "messages/documents.hpp"
#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

namespace fs = std::filesystem;

struct CommandLine {
    std::string document;
    std::string text;
    std::string command;               // "train"
    std::vector<std::string> options;  // "--steps"
};

// Returns the lines of fenced code blocks without comments; a line that ends with \ continues. In a block with
// prompts ("$ ") only lines after a prompt are commands; the others are output.
std::vector<std::string> lines_of_blocks(std::istream& document) {
    std::vector<std::string> lines, block, prompted;
    bool is_block = false, continues = false, is_prompted = false;
    for (std::string line; std::getline(document, line);) {
        if (line.starts_with("```")) {
            const std::vector<std::string>& commands = prompted.empty() ? block : prompted;
            lines.insert(lines.end(), commands.begin(), commands.end());
            block.clear();
            prompted.clear();
            is_block = !is_block;
            continues = false;
            continue;
        }
        if (!is_block) continue;
        line = line.substr(0, line.find(" #"));
        if (!continues) is_prompted = line.starts_with("$ ");
        if (is_prompted && !continues) line.erase(0, 2);
        const bool has_continuation = line.ends_with("\\");
        if (has_continuation) line.pop_back();
        std::vector<std::string>& into = is_prompted ? prompted : block;
        if (continues)
            into.back() += line;
        else
            into.push_back(line);
        continues = has_continuation;
    }
    return lines;
}

// Returns the command that a line starts: by `trireme COMMAND`, with or without a launcher, or by a job script,
// which takes the options of `train`.
CommandLine parsed(const std::string& line) {
    static const std::set<std::string> launchers{"mpirun", "mpiexec", "srun", "sbatch"};
    std::istringstream in(line);
    CommandLine result{.document = {}, .text = line, .command = {}, .options = {}};
    bool is_first = true, is_launched = false;
    for (std::string word; in >> word; is_first = false) {
        const std::string name = word.substr(word.rfind('/') == std::string::npos ? 0 : word.rfind('/') + 1);
        if (!result.command.empty()) {
            if (word == "|" || word == ">" || word == "&&") break;
            if (word.starts_with("--")) result.options.push_back(word.substr(0, word.find('=')));
        } else if (name == "trireme" && (is_first || is_launched)) {
            if (!(in >> result.command)) break;
        } else if (name == "train.sbatch" || name == "hetero.sbatch") {
            result.command = "train";
        }
        is_launched = is_launched || (is_first && launchers.contains(name));
    }
    return result;
}

class DocumentCommands : public Workplace {
protected:
    // Returns the options that `trireme COMMAND --help --all` lists; empty if there is no such command.
    const std::set<std::string>& options_of(const std::string& command) {
        const auto known = options_.find(command);
        if (known != options_.end()) return known->second;
        const Outcome help = run(command + " --help --all");
        std::set<std::string>& options = options_[command];
        std::istringstream words(help.code == 0 ? help.out : "");
        for (std::string word; words >> word;) {
            if (word.starts_with("--"))
                options.insert(word.substr(0, word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-")));
        }
        return options;
    }

private:
    std::map<std::string, std::set<std::string>> options_;
};

TEST_F(DocumentCommands, UseOnlyExistingCommandsAndOptions) {
    std::size_t lines = 0;
    for (const fs::path& document : documents(TRIREME_SOURCE_DIR)) {
        std::ifstream in(document);
        for (const std::string& line : lines_of_blocks(in)) {
            const CommandLine found = parsed(line);
            if (found.command.empty() || found.command.starts_with("-")) continue;
            ++lines;
            const std::set<std::string>& known = options_of(found.command);
            EXPECT_FALSE(known.empty())
                << document << ": no command is called " << found.command << ": " << line;
            for (const std::string& option : found.options)
                EXPECT_TRUE(known.contains(option) || option == "--help")
                    << document << ": " << found.command << " has no " << option << ": " << line;
        }
    }
    EXPECT_GT(lines, 20U);
}

TEST_F(DocumentCommands, AreFoundAfterPromptsAndLaunchersAndAcrossLines) {
    std::istringstream document(
        "trireme train --not-in-a-block\n```\n$ mpirun -n 2 trireme train --steps 3 \\\n    --no-such=1 # "
        "--comment\n"
        "trireme train: what it printed\n```\n");

    const std::vector<std::string> lines = lines_of_blocks(document);

    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(parsed(lines[0]).command, "train");
    EXPECT_EQ(parsed(lines[0]).options, (std::vector<std::string>{"--steps", "--no-such"}));
    EXPECT_TRUE(parsed("some text about trireme train --steps").command.empty());
    EXPECT_FALSE(options_of("train").contains("--no-such"));
}

}  // namespace
}  // namespace trireme::messages
