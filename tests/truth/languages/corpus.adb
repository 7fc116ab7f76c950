-- SPDX-License-Identifier: Apache-2.0
--
-- Ten crashes of Ada, by number. Checks are off, and no handler of signals is there.
pragma Suppress (All_Checks);
with Ada.Command_Line;

procedure Corpus is
   type Table is array (Long_Integer range <>) of Integer;
   type Item is record
      Id    : Integer := 41;
      Parts : Table (1 .. 4) := (others => 3);
   end record;
   type Pointer is access all Integer;
   type Owner is access all Item;
   procedure Leave with Import, Convention => C, External_Name => "abort";
   procedure Default (Number : Integer; Handler : Long_Integer)
     with Import, Convention => C, External_Name => "signal";

   Zero    : Integer := 0 with Volatile;
   Nothing : Pointer := null with Volatile;
   Nobody  : Owner := null with Volatile;

   procedure Write_Null (Count : Integer) is
   begin
      Nothing.all := Count * 2;
   end Write_Null;

   function Divide (Left, Right : Integer) return Integer is
   begin
      return Left / Right;
   end Divide;

   procedure Beyond (Values : in out Table; Where : Long_Integer) is
   begin
      Values (Where) := 7;
   end Beyond;

   procedure Of_Nobody (More : Integer) is
   begin
      Zero := Nobody.Id + More;
   end Of_Nobody;

   procedure End_By (Way : Integer) is
      Values : Table (1 .. 8) := (others => 5);
      One    : Item;
   begin
      case Way mod 5 is
         when 0 => Write_Null (Way + 2);
         when 1 => Zero := Divide (Way + 10, Zero);
         when 2 => Beyond (Values, 400_000_000 + Long_Integer (Zero));
         when 3 => Of_Nobody (Way);
         when others => Leave;
      end case;
      Zero := Values (1) + One.Id;
   end End_By;

   procedure Deep (Left, Way : Integer) is
      Here : constant Integer := Left * 3;
   begin
      if Left > 0 then
         Deep (Left - 1, Way);
      else
         End_By (Way);
      end if;
      Zero := Here * Zero;
   end Deep;

   Way : constant Integer := Integer'Value (Ada.Command_Line.Argument (1));
begin
   Default (6, 0);
   Default (8, 0);
   Default (11, 0);
   if Way < 5 then
      End_By (Way);
   else
      Deep (4, Way);
   end if;
end Corpus;
