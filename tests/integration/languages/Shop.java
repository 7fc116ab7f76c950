// SPDX-License-Identifier: Apache-2.0
//
// Shop: has the virtual machine list its compiled code, and crashes in a method that was
// compiled, called by others that were.
import java.lang.reflect.Field;
import sun.misc.Unsafe;

public class Shop {
    static Unsafe unsafe;
    static long sum;

    static long price(long address) {
        unsafe.putInt(address, 1);
        return address;
    }

    static long total(long address) {
        return price(address) + 1;
    }

    static long serve(long address) {
        return total(address) + 1;
    }

    public static void main(String[] arguments) throws Exception {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        unsafe = (Unsafe) field.get(null);
        long memory = unsafe.allocateMemory(64);
        for (int i = 0; i < 200000; i++) sum += serve(memory);
        new ProcessBuilder("jcmd", "" + ProcessHandle.current().pid(), "Compiler.perfmap")
            .inheritIO().start().waitFor();
        for (int i = 0; i < 3; i++) serve(i == 2 ? 8 : memory);
    }
}
