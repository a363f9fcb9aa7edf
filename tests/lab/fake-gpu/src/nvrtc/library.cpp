// A fake for NVRTC: it compiles kernels with the host's compiler, and what it gives for PTX is a text that
// tells the fake driver where they lie in this process.
//
// `COMPILER` is the command, `DEVICE` the text of `device.h`.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace {
enum Result { SUCCESS = 0, OUT_OF_MEMORY = 1, INVALID_OPTION = 5, COMPILATION = 6 };

struct Program {
    std::string source, ptx, log;
};

std::string read(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

// The names of the kernels in a source.
std::vector<std::string> names(const std::string& source) {
    const std::string before = "__global__ void ";
    std::vector<std::string> found;
    for (size_t at = source.find(before); at != std::string::npos; at = source.find(before, at)) {
        at += before.size();
        found.push_back(source.substr(at, source.find('(', at) - at));
    }
    return found;
}

// The facts that the driver must know of the kernels in a library. A thread costs the moving of 8 bytes.
std::string described(void* library, const std::vector<std::string>& kernels) {
    std::string told, text = ".version 7.0\n.target sm_70\n.address_size 64\n";
    for (const std::string& name : kernels) {
        const auto bytes = *(const unsigned long*)dlsym(library, ("bytes_of_" + name).c_str());
        const auto run = (unsigned long)dlsym(library, ("run_" + name).c_str());
        told += "// fake " + name + " bytes_per_thread=8 host=" + std::to_string(run) + "\n";
        text += ".visible .entry " + name + "(.param .b8 batch[" + std::to_string(bytes) + "]) { ret; }\n";
    }
    return told + text;
}

// Compiles a source with the host's compiler and leaves its kernels in this process.
int compile(Program& program) {
    static std::map<std::string, std::string> compiled;
    std::string& ptx = compiled[program.source];
    if (ptx.empty()) {
        char folder[] = "/tmp/fake-nvrtc-XXXXXX";
        if (!mkdtemp(folder)) return OUT_OF_MEMORY;
        const std::string file = std::string(folder) + "/kernels";
        std::ofstream out(file + ".cpp");
        out << DEVICE << program.source;
        for (const std::string& name : names(program.source)) out << "HOST_KERNEL(" << name << ")\n";
        out.close();
        const std::string command = COMPILER " -std=c++17 -O1 -ffp-contract=off -shared -fPIC -o " + file +
                                    ".so " + file + ".cpp 2>" + file + ".log";
        const bool made = std::system(command.c_str()) == 0;
        void* library = made ? dlopen((file + ".so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
        program.log = read(file + ".log");
        std::filesystem::remove_all(folder);
        if (!library) return COMPILATION;
        ptx = described(library, names(program.source));
    }
    program.ptx = ptx;
    return SUCCESS;
}
} // namespace

extern "C" {
int nvrtcCreateProgram(Program** program, const char* source, const char*, int, const char**, const char**) {
    *program = new Program{source, "", ""};
    return 0;
}

int nvrtcDestroyProgram(Program** program) {
    delete *program;
    return 0;
}

// The host contracts no operations, so that a device must not either.
int nvrtcCompileProgram(Program* program, int count, const char** options) {
    const bool exact = std::count(options, options + count, std::string("--fmad=false"));
    return exact ? compile(*program) : INVALID_OPTION;
}

int nvrtcGetPTXSize(Program* program, size_t* size) {
    *size = program->ptx.size() + 1;
    return 0;
}

int nvrtcGetPTX(Program* program, char* to) {
    std::strcpy(to, program->ptx.c_str());
    return 0;
}

int nvrtcGetProgramLogSize(Program* program, size_t* size) {
    *size = program->log.size() + 1;
    return 0;
}

int nvrtcGetProgramLog(Program* program, char* to) {
    std::strcpy(to, program->log.c_str());
    return 0;
}
}
